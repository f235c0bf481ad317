import AppStore
import ArgumentParser
import ShopAPI

/// `appstore-inbox key create`: makes a key and shows it, this once.
struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Makes a key and prints it, this once: only its SHA-256 is kept.",
        discussion: """
            The key alone goes to standard output, its number to standard error; with --json both are in one object. It covers what is \
            named here and nothing else.
            """
    )

    @Argument(help: "Who is going to have it.") var name: String
    @Option(
        name: .customLong("verb"),
        help: "What may be done with it, again for each: \(Verb.allCases.map(\.rawValue).joined(separator: ", ")).",
        transform: { text in
            guard let verb = Verb(rawValue: text) else { throw ValidationError("'\(text)' is no verb: see --help") }
            return verb
        }
    )
    var verbs: [Verb] = []
    @Option(name: .customLong("app"), help: "A bundle id that it is for, again for each; any app when none is named.")
    var apps: [String] = []
    @Option(
        name: .customLong("environment"),
        help: "An environment that it is for, again for each (default: Production).",
        transform: { text in
            guard ["Production", "Sandbox"].contains(text) else { throw ValidationError("'\(text)' is neither Production nor Sandbox") }
            return AppStoreEnvironment(rawValue: text)
        }
    )
    var environments: [AppStoreEnvironment] = []
    @OptionGroup var options: KeyOptions

    func validate() throws {
        guard !verbs.isEmpty else { throw ValidationError("name at least one --verb") }
        guard (1...100).contains(name.utf8.count) else { throw ValidationError("the name must have 1 to 100 bytes") }
        for app in apps where app.isEmpty { throw ValidationError("an --app must not be empty") }
    }

    func run() async throws {
        var generator = SystemRandomNumberGenerator()
        let key = APIKey(using: &generator)
        let keyID = try await options.withRegister { register in
            try await register.add(
                key,
                name: name,
                bundleIDs: apps.isEmpty ? nil : unique(apps),
                environments: environments.isEmpty ? [.production] : unique(environments),
                verbs: unique(verbs)
            )
        }
        if options.json {
            options.print(["id": .integer(keyID), "name": .string(name), "key": .string(key.text)])
        } else {
            LogOutput.standardError.write("key \(keyID) for \(name): it is shown only now\n")
            print(key.text)
        }
    }

    private func unique<Value: Hashable>(_ values: [Value]) -> [Value] {
        var seen: Set<Value> = []
        return values.filter { seen.insert($0).inserted }
    }
}
