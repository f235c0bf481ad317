package import ArgumentParser

/// The program: its daemons, `ingest`, `worker` and `console`, and the operator's commands.
package struct AppStoreInbox: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "appstore-inbox",
        abstract: "Absorbs Apple's App Store notifications into PostgreSQL: none lost, none twice, in any order.",
        discussion: """
            A setting is read from its flag, else from its environment variable APPSTORE_INBOX_…, else from the file that --config or \
            APPSTORE_INBOX_CONFIG names (NAME=value lines, or JSON), else it has its default.
            """,
        version: "appstore-inbox \(Build.description)",
        subcommands: [
            MigrateCommand.self, IngestCommand.self, WorkerCommand.self, StatusCommand.self, DoctorCommand.self, TailCommand.self,
            UserCommand.self, ExplainCommand.self, VerifyCommand.self, RequeueCommand.self, DiscardCommand.self, ReplayCommand.self,
            KeyCommand.self, EndpointCommand.self, RedeliverCommand.self, ConsumptionCommand.self, HistoryCommand.self,
            ReconcileCommand.self, ImportCommand.self, AppleCommand.self, ConsoleCommand.self,
        ]
    )

    package init() {}
}
