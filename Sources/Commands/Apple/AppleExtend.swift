import ArgumentParser
import SQL

/// `appstore-inbox apple extend`: extends a subscription.
struct AppleExtend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extend",
        abstract: "Extends a subscription by some days. Apple mails the customer, allows it twice in 365 days, and cannot undo it.",
        discussion: """
            An extension with the same --request is made once in 30 days. Without one there is one in 24 hours for a subscription, so that \
            repeating the command does no harm.
            """
    )

    @Argument(help: "The originalTransactionId of the subscription.") var id: String
    @OptionGroup var terms: AppleExtension
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func run() async throws {
        try await options.run(
            place.statement(.appleExtend, ["id": id, "days": terms.days, "reason": terms.reasonCode, "request_identifier": terms.request])
        )
    }
}

/// By how much, and why.
struct AppleExtension: ParsableArguments {
    /// In the order of Apple's codes.
    private static let reasons = ["undeclared", "satisfaction", "other", "outage"]

    @Option(help: "By how many days, from 1 to 90.") var days: Int32
    @Option(
        help: "Why: \(Self.reasons.joined(separator: ", ")) (of the service, or another issue).",
        completion: .list(Self.reasons)
    )
    var reason: String
    @Option(help: "Your identifier of the extension, Apple's requestIdentifier (default: the id and today's date).") var request: String?

    var reasonCode: Int32? { Self.reasons.firstIndex(of: reason).map { Int32($0) } }

    func validate() throws {
        try KnownWords(option: "--reason", words: Self.reasons).check(reason)
        if !(1...90).contains(days) { throw ValidationError("--days must be from 1 to 90, not \(days)") }
    }
}
