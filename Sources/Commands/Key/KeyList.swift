import AppStore
import ArgumentParser
import ShopAPI
import StrictJSON

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
