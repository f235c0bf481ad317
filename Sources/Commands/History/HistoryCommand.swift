import ArgumentParser
import Schema

/// `appstore-inbox history`: what Apple's notification history lists, and how far workers have read it.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Shows how far Apple's notification history was read, and what it had that was never pushed.",
        discussion: """
            Workers that have an In-App Purchase key read the history of their apps by themselves. Showing needs a role that may read, such as \
            appstore_viewer; walk and mode need appstore_operator. Exit codes: 0 done, 1 refused by the database, or there is no such app, 2 wrong \
            usage, 78 wrong settings.
            """,
        subcommands: [HistoryStatus.self, HistoryGaps.self, HistoryWalkSince.self, HistorySetMode.self]
    )
}

/// Options that the commands for the history share.
struct HistoryOptions: ParsableArguments, JSONOptions {
    @Option(help: "Only this app, by its bundle id.") var app: String?
    @Option(help: "Only Production or Sandbox.", completion: .environments) var environment: String?
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        if let environment, !KnownWords.environments.words.contains(environment) {
            throw ValidationError("--environment is Production or Sandbox, not \(environment.quotedUnlessSecret)")
        }
    }

    /// Calls the body with the history of the chosen apps, on a connection of its own.
    func withRegister<Value: Sendable>(changing: Bool = false, _ body: (HistoryRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "set_history_mode")
        return try await CommandConnection.with(reader, command: "history", changing ? operating : .viewer) {
            try await body(HistoryRegister(connection: $0, app: app, environment: environment))
        }
    }
}
