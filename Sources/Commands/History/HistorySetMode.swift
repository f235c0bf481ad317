import ArgumentParser

/// `appstore-inbox history mode`: sets how the history is read.
struct HistorySetMode: AsyncParsableCommand {
    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case walk, beside, off
    }

    static let configuration = CommandConfiguration(
        commandName: "mode",
        abstract: "Sets how the history is read: walk, beside or off.",
        discussion: """
            beside is a trial while another service owns the URL: the history is read every minute, and it is no alarm that the other service took \
            a notification. off asks Apple nothing; walk goes on where it ended. Without --app and --environment it holds for all.
            """
    )

    @Argument(help: "walk, beside or off.") var mode: Mode
    @OptionGroup var options: HistoryOptions

    func run() async throws {
        for app in try await options.withRegister(changing: true, { try await $0.setMode(mode.rawValue) }) {
            options.print(app.json, "\(app.bundleID.onOneLineSafely) \(app.environment): \(app.mode)")
        }
    }
}
