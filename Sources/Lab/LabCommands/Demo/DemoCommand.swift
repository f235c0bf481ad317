import ArgumentParser

/// `appstore-inbox-lab demo`: writes the files that `deploy/demo` posts.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Writes the notifications and receipts of simulated customers.",
        subcommands: [DemoNotifications.self, DemoLegacy.self, DemoHistory.self],
        defaultSubcommand: DemoNotifications.self
    )
}
