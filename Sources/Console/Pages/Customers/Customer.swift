import HTML

/// What a customer is known by.
enum Customer: Sendable {
    case user(String)
    case contract(String)

    var user: String? { if case .user(let name) = self { name } else { nil } }
    var contract: String? { if case .contract(let id) = self { id } else { nil } }

    var title: String {
        switch self {
        case .user(let name): "User \(name.shortened)"
        case .contract(let id): "Contract \(id.shortened)"
        }
    }

    /// The page of the customer, or the address of an action of that page.
    func url(_ context: ConsoleContext, _ action: String? = nil) -> ConsoleURL {
        let (kind, name) =
            switch self {
            case .user(let name): ("users", name)
            case .contract(let id): ("contracts", id)
            }
        return action.map { context.url("customers", kind, name, $0) } ?? context.url("customers", kind, name)
    }

    func elsewhere(_ environment: String) -> Elsewhere {
        switch self {
        case .user(let name):
            Elsewhere(
                psql: ["SELECT jsonb_pretty(appstore.explain_customer(\(name), environment => \(environment)));"],
                commands: ["appstore-inbox user \(name) --environment \(environment)"]
            )
        case .contract(let id):
            Elsewhere(
                psql: [
                    "SELECT jsonb_pretty(appstore.explain_customer(original_transaction_id => \(id), environment => \(environment)));",
                    "SELECT * FROM appstore.timeline(\(environment), \(id));",
                    "SELECT * FROM appstore.ownership_of(\(environment), ARRAY[\(id)]);",
                ],
                commands: []
            )
        }
    }

    /// The forms of what can be done.
    func actions(_ context: ConsoleContext) -> Markup {
        section {
            h2 { "Actions" }
            actionForm(url(context, "link"), button: "Link owner…") {
                switch self {
                case .user:
                    textField(name: "contract", label: "Contract (originalTransactionId)", isRequired: true)
                case .contract:
                    textField(name: "user", label: "User who becomes the owner", isRequired: true)
                }
                textField(name: "note", label: "Reason", isRequired: true)
            }
            if case .user = self {
                actionForm(url(context, "forget"), button: "Forget this user…", isDangerous: true) {
                    textField(name: "note", label: "Reason, without the user’s name", isRequired: true)
                }
            }
        }
    }
}
