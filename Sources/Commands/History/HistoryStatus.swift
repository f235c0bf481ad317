import ArgumentParser

/// `appstore-inbox history status`: shows until when the history was read.
struct HistoryStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows, of each app and environment, until when the history was read without a hole, and its records by class."
    )

    @OptionGroup var options: HistoryOptions

    func run() async throws {
        let apps = try await options.withRegister { try await $0.coverage() }
        if apps.isEmpty, !options.json { return print("No worker has read the history of such an app.") }
        for app in apps { options.print(app.json, app.text) }
    }
}
