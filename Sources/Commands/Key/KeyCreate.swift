import AppStore
import ArgumentParser
import ShopAPI
import StrictJSON

/// `appstore-inbox key create`: creates a key and prints it once.
struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates a key and prints it. It cannot be printed again: only its SHA-256 is stored.",
        discussion: """
            Standard output gets the key alone, standard error its number; with --json both are in one object. The key covers the \
            operations, apps and environments that are named here. No two living keys can have one name.
            """
    )

    @Argument(help: "The name of the caller that will use the key.") var name: String
    @Option(
        name: .customLong("verb"),
        help: "An operation that the key permits; may be given several times: \(Verb.allCases.map(\.rawValue).joined(separator: ", ")).",
        completion: .values(of: Verb.self),
        transform: { text in
            guard let verb = Verb(rawValue: text) else { throw ValidationError("'\(text)' is not a verb: see --help") }
            return verb
        }
    )
    var verbs: [Verb] = []
    @Option(name: .customLong("app"), help: "An app's bundle id; may be given several times (default: any app).")
    var apps: [String] = []
    @Option(
        name: .customLong("environment"),
        help: "An environment; may be given several times (default: Production).",
        completion: .environments,
        transform: { text in
            guard KnownWords.environments.words.contains(text) else { throw ValidationError("'\(text)' is neither Production nor Sandbox") }
            return AppStoreEnvironment(rawValue: text)
        }
    )
    var environments: [AppStoreEnvironment] = []
    @Option(
        name: .customLong("expires"),
        help: ArgumentHelp(
            "When the key ends: an instant such as 2027-01-31T12:00:00Z, or a time from now such as 90d (default: never).",
            valueName: "INSTANT|DURATION"
        ),
        transform: { text in
            guard let end = KeyEnd(text) else {
                throw ValidationError("'\(text)' is neither an instant such as 2027-01-31T12:00:00Z nor a time such as 90d, 12h or 30m")
            }
            return end
        }
    )
    var end: KeyEnd?
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
                verbs: unique(verbs),
                until: end
            )
        }
        if options.json {
            options.print(["id": .integer(keyID), "name": .string(name), "key": .string(key.text)], "")
        } else {
            LogOutput.standardError.write("key \(keyID) for \(name): it cannot be shown again\n")
            print(key.text)
        }
    }

    private func unique<Value: Hashable>(_ values: [Value]) -> [Value] {
        var seen: Set<Value> = []
        return values.filter { seen.insert($0).inserted }
    }
}
