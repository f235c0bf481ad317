import ArgumentParser

/// `appstore-inbox discard`: ends events that must not run.
struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discards events that are failed, rejected or unhandled; by number also events that wait.",
        discussion: RepairOptions.discussion
    )

    @OptionGroup var options: RepairOptions
    @Option(help: "Why; it becomes the reason of their outcomes.") var note: String

    func run() async throws {
        try await options.run(.discard, note: note)
    }
}
