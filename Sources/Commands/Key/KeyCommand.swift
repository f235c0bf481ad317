import AppStore
import ArgumentParser
import Schema
import ShopAPI
import StrictJSON

/// `appstore-inbox key`: the keys of the API for the shop's own backend.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Creates, lists and revokes the keys with which the shop's own backend calls the API.",
        discussion: """
            Needs a role with these privileges, such as appstore_operator. Exit codes: 0 done, 1 the database refused or could not be \
            reached, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [KeyCreate.self, KeyList.self, KeyRevoke.self]
    )
}

/// Options that the commands for keys share.
struct KeyOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    /// Calls the body with the register of keys, on a connection of its own.
    func withRegister<Value: Sendable>(_ body: (KeyRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let keeper = SchemaExpectation(role: "appstore_operator", function: "schema_fingerprint")
        return try await CommandConnection.with(reader, command: "key", keeper) { try await body(KeyRegister($0)) }
    }
}

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

/// `appstore-inbox key list`: lists the keys and their scopes, including revoked keys.
struct KeyList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the keys, their scopes, their end and a use in the hour of the latest; with --json one object a line."
    )

    @OptionGroup var options: KeyOptions

    func run() async throws {
        let entries = try await options.withRegister { try await $0.entries() }
        if entries.isEmpty, !options.json { print("There are no keys.") }
        for entry in entries { options.print(Self.json(entry), Self.text(entry)) }
    }

    private static func json(_ entry: KeyRegister.Entry) -> JSONObject {
        [
            "id": .integer(entry.keyID), "name": .string(entry.name),
            "apps": .optional(entry.bundleIDs),
            "environments": .array(entry.environments.map(JSONValue.string)), "verbs": .array(entry.verbs.map(JSONValue.string)),
            "createdAt": .string(entry.createdAt.description), "expiresAt": .optional(entry.expiresAt?.description),
            "lastUsedAt": .optional(entry.lastUsedAt?.description), "revokedAt": .optional(entry.revokedAt?.description),
        ]
    }

    private static func text(_ entry: KeyRegister.Entry) -> String {
        let apps = entry.bundleIDs?.joined(separator: ", ") ?? "any app"
        let used = entry.lastUsedAt.map { "last used \($0)" } ?? "never used"
        let end = entry.revokedAt.map { ", revoked \($0)" } ?? entry.expiresAt.map { ", expires \($0)" } ?? ""
        return """
            \(entry.keyID)  \(entry.name), made \(entry.createdAt), \(used)\(end)
                \(entry.environments.joined(separator: ", ")); \(apps); \(entry.verbs.joined(separator: ", "))
            """
    }
}

/// `appstore-inbox key revoke`: revokes a key.
struct KeyRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a key: requests with it are refused from now on.",
        discussion: "Revoking a revoked key changes nothing and succeeds."
    )

    @Argument(help: "The key's number, as `key list` shows it.") var id: Int32
    @OptionGroup var options: KeyOptions

    func run() async throws {
        let revoked = try await options.withRegister { try await $0.revoke(id) }
        options.print(["id": .integer(id), "revoked": .bool(revoked)], "Key \(id) \(revoked ? "is" : "was already") revoked.")
    }
}
