import ArgumentParser
import Schema

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
struct ImportOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// Calls the body with the imports in the database, on a connection of its own.
    func withRegister<Value: Sendable>(changing: Bool = false, _ body: (ImportRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "begin_import")
        return try await CommandConnection.with(reader, command: "import", changing ? operating : .viewer, deadline: .seconds(600)) {
            try await body(ImportRegister(connection: $0))
        }
    }
}
