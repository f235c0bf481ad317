import ArgumentParser

/// `appstore-inbox apple call`: shows a call.
struct AppleCall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "call", abstract: "Shows a call, and waits for its answer.")

    @Argument(help: "The number of the call.") var call: Int64
    @OptionGroup var options: AppleOptions

    func run() async throws {
        try await options.run { _ in call }
    }
}
