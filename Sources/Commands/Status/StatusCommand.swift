import AppStore
import ArgumentParser
import Logging
import Postgres

/// `appstore-inbox status`: what waits and what became of the rest.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what waits in the inbox and what became of the rest.",
        discussion:
            "Needs a role that may read, such as appstore_viewer. Exit codes: 0 shown, 1 the database could not be asked, 78 wrong settings."
    )

    @Flag(help: "Print one JSON object.") var json = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(database)
        let options = try ConnectionOptions(DatabaseSettings(reader), command: "status")
        let connection = try await Connection.open(options, logger: try Logger.service("status", reader))
        let status = try await InboxStatus.read(from: connection)
        await connection.close()
        print(json ? String(decoding: JSONSerializer.serialize(status.json), as: UTF8.self) : status.text)
    }
}
