import Postgres
import SQL
import StrictJSON

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

/// Makes a user the owner of a contract from now on. The path names the customer of the page: a form would change some characters of a name.
struct LinkOwner: ConsoleAction {
    let path: String
    let area = ConsoleArea.customers
    let right = ConsoleRight.operate

    static let all = ["/customers/users/{user}/link", "/customers/contracts/{contract}/link"].map { LinkOwner(path: $0) }

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let contract = try form.values["contract"] ?? form.required("contract", "Contract (originalTransactionId)")
        let user = try form.values["user"] ?? form.exact("user", "User who becomes the owner")
        let note = try form.required("note", "Reason")
        guard let document = try await CustomerPage.document(.contract(contract), context) else {
            throw ConsoleProblem.notFound(
                "Nothing is known of a contract “\(contract.shortened)” in \(context.environment). Give Apple’s originalTransactionId, not the id of a renewal."
            )
        }
        guard form.isConfirmed else {
            let owner = document.rows("contracts").first?.word("user_id")
            let isKnown = try await CustomerPage.document(.user(user), context) != nil
            return .confirm(
                Confirmation(title: "Make \(user.shortened) the owner?", button: "Link \(contract.shortened) to \(user.shortened)") {
                    p { "The contract \(contract.shortened) belongs to \(owner.map { "“\($0)”" } ?? "no user") now." }
                    if !isKnown { p { "Nothing is known of a user “\(user)” yet." } }
                    p { "From now on it belongs to “\(user)”. Earlier periods keep their users. appstore.unlink_owner takes it back." }
                }
            )
        }
        _ = try await context.transaction.query(
            .linkOwner(environment: context.environment, originalTransactionID: contract, userID: user, note: note)
        )
        return .done(Customer.contract(contract).url(context), "\(user.shortened) owns the contract from now on.")
    }
}

/// Erases a user.
struct ForgetUser: ConsoleAction {
    let path = "/customers/users/{user}/forget"
    let area = ConsoleArea.customers
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let user = form.values["user"] ?? ""
        let note = try form.required("note", "Reason, without the user’s name")
        guard form.isConfirmed else {
            let document = try await CustomerPage.document(.user(user), context) ?? [:]
            let counts = ["orders", "contracts"].map { "\(document.rows($0).count) \($0)" }.joined(separator: ", ")
            return .confirm(
                Confirmation(title: "Forget \(user.shortened)?", button: "Forget \(user.shortened) for ever", isDangerous: true) {
                    p { "The name is “\(user)”." }
                    p {
                        "In \(context.environment) the user has \(counts); of orders, at most 40 are counted. Both environments are erased."
                    }
                    p { "An alias replaces the name, and the bodies of the user’s events are deleted. Amounts and access stay." }
                    p { "This cannot be undone." }
                }
            )
        }
        let rows = try await context.transaction.query(.forget(userID: user, note: note))
        guard let row = rows.first, let alias = try row.decode("alias", as: String?.self) else {
            throw ConsoleProblem.notFound("There is nothing of a user “\(user.shortened)”. Nothing was changed.")
        }
        let counts = try ["orders", "contracts", "posts", "bodies"].map { "\(try row.decode($0, as: Int64.self)) \($0)" }
        return .done(Customer.user(alias).url(context), "The user is forgotten: \(counts.joined(separator: ", ")).")
    }
}
