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
            .extendRenewalDate(
                originalTransactionID: id,
                days: terms.days,
                reason: try terms.reasonCode(),
                requestIdentifier: terms.request,
                bundleID: place.app,
                environment: place.environment
            )
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

    /// Apple's code of the reason.
    func reasonCode() throws -> Int32 {
        try KnownWords(option: "--reason", words: Self.reasons).check(reason)
        return Int32(Self.reasons.prefix { $0 != reason }.count)
    }

    func validate() throws {
        _ = try reasonCode()
        if !(1...90).contains(days) { throw ValidationError("--days must be from 1 to 90, not \(days)") }
    }
}
