package import ArgumentParser
import Commands

/// The program for developers, and for operators who evaluate `appstore-inbox`: it has a simulated App Store and benchmarks.
package struct AppStoreInboxLab: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "appstore-inbox-lab",
        abstract: "Posts simulated notifications to appstore-inbox, and measures it. Not for production.",
        version: "appstore-inbox-lab \(Build.description)",
        subcommands: [TriggerCommand.self, ReceiveCommand.self, APICommand.self, DemoCommand.self, BenchCommand.self]
    )

    package init() {}
}
