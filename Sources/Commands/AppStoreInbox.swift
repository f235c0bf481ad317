package import ArgumentParser

/// The program: two daemons, `ingest` and `worker`, and the tools around them.
package struct AppStoreInbox: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "appstore-inbox",
        abstract: "Absorbs Apple's App Store notifications into PostgreSQL: none lost, none twice, in any order.",
        discussion: """
            Settings come from flags, else from environment variables APPSTORE_INBOX_…, else from a JSON file named by \
            APPSTORE_INBOX_CONFIG, else from defaults.
            """,
        subcommands: [
            MigrateCommand.self, IngestCommand.self, WorkerCommand.self, StatusCommand.self, VerifyCommand.self, ExplainCommand.self,
            RequeueCommand.self, DiscardCommand.self, ReplayCommand.self, KeyCommand.self, TriggerCommand.self, DemoCommand.self,
            BenchCommand.self,
        ]
    )

    package init() {}
}
