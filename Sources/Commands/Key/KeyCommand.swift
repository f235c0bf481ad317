import AppStore
import ArgumentParser
import Logging
import Postgres
import ShopAPI

/// `appstore-inbox key`: the keys of the interface for the shop's own backend.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Makes, lists and revokes the keys that the shop's own backend shows to the interface.",
        discussion: """
            Needs a role that may do so, such as appstore_operator. Exit codes: 0 done, 1 the database refused or could not be asked, \
            2 wrong usage, 78 wrong settings.
            """,
        subcommands: [KeyCreate.self, KeyList.self, KeyRevoke.self]
    )
}

/// What the commands about keys have in common.
struct KeyOptions: ParsableArguments {
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    /// Lends the register of keys.
    func withRegister<Value: Sendable>(_ body: (KeyRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let options = try ConnectionOptions(DatabaseSettings(reader), command: "key", role: "appstore_operator")
        let connection = try await Connection.open(options, logger: try Logger.service("key", reader))
        do {
            let value = try await body(KeyRegister(connection))
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Prints one JSON value on a line of its own.
    func print(_ value: JSONValue) {
        Swift.print(String(decoding: JSONSerializer.serialize(value), as: UTF8.self))
    }
}
