import ArgumentParser

/// `appstore-inbox requeue`: runs settled events again.
struct RequeueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Runs events with any outcome again.",
        discussion: RepairOptions.discussion
    )

    @OptionGroup var options: RepairOptions
    @Option(help: "Why, for the audit log.") var note: String?

    func run() async throws {
        try await options.run(.requeue, note: note)
    }
}
