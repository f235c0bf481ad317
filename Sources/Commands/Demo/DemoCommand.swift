import ArgumentParser

/// `appstore-inbox demo`: what `deploy/demo` posts.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Writes the lives of made-up customers, as bodies of POSTs.",
        subcommands: [DemoNotifications.self, DemoLegacy.self],
        defaultSubcommand: DemoNotifications.self
    )
}
