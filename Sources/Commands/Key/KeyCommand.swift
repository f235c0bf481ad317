import ArgumentParser
import Schema
import ShopAPI

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
