import ArgumentParser
import Postgres
import Schema
import StrictJSON

/// `appstore-inbox import`: customers whose ids are in a file, and what Apple says of them.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Asks Apple about customers whose ids are in a file, and makes their users owners.",
        discussion: """
            Workers that have an In-App Purchase key ask; a terminal or a worker that ends changes nothing. status and misses need a role that \
            may read, such as appstore_viewer; new, pause, resume and stop need appstore_operator. Exit codes: 0 done, 1 refused by the \
            database, a file that cannot be imported, or there is no such import, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [
            ImportNew.self, ImportStatus.self, ImportPause.self, ImportResume.self, ImportStop.self, ImportMisses.self,
        ]
    )
}

/// Options that the commands for imports share.
struct ImportOptions: ParsableArguments {
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// The imports in the database, on a connection of its own, which the caller closes.
    func open(changing: Bool = true) async throws -> ImportRegister {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "begin_import")
        let viewing = SchemaExpectation(role: "appstore_viewer", function: "inbox_statistics")
        let expected = changing ? operating : viewing
        return ImportRegister(
            connection: try await CommandConnection.open(reader, command: "import", expected, deadline: .seconds(600))
        )
    }

    /// Calls the body with the imports in the database, on a connection of its own.
    func withRegister<Value: Sendable>(changing: Bool = false, _ body: (ImportRegister) async throws -> Value) async throws -> Value {
        let register = try await open(changing: changing)
        do {
            let value = try await body(register)
            await register.connection.close()
            return value
        } catch {
            await register.connection.close()
            throw error
        }
    }

    /// Prints one JSON object on a line of its own, else the text.
    func print(_ object: @autoclosure () -> JSONObject, _ text: @autoclosure () -> String) {
        StandardOutput.write((json ? object().onOneLine : text()) + "\n")
    }
}
