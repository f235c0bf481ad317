import ArgumentParser

/// `appstore-inbox history gaps`: shows what was not read yet, and why.
struct HistoryGaps: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gaps",
        abstract: "Lists the windows of the history that are not complete, and why; those that have failed longest first."
    )

    @Option(help: "How many at most.") var most = 50
    @OptionGroup var options: HistoryOptions

    func validate() throws {
        if most < 1 { throw ValidationError("--most must be at least 1") }
    }

    func run() async throws {
        let gaps = try await options.withRegister { try await $0.gaps(most: most) }
        options.print(gaps.map(\.json), HistoryGap.head, gaps.map(\.cells), none: "There are no gaps.")
    }
}
