import ArgumentParser
import FoundationEssentials
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

/// `appstore-inbox apple extend-all`: extends all subscriptions to a product.
struct AppleExtendAll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extend-all",
        abstract: "Extends all active subscriptions to a product. Apple mails each customer, and cannot undo it.",
        discussion: "\"apple extend-status\" shows how far Apple is. What Apple extends comes as notifications, too."
    )

    @Argument(help: "The productId.") var product: String
    @Option(
        name: .customLong("storefront"),
        help: "Only customers of this country, such as USA; may be given several times (default: all)."
    )
    var storefronts: [String] = []
    @Flag(help: "Confirms that all customers of the product are meant.") var yes = false
    @OptionGroup var terms: AppleExtension
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func validate() throws {
        guard yes else {
            throw ValidationError("extending all subscriptions to \(product.quotedUnlessSecret) cannot be undone: confirm with --yes")
        }
    }

    func run() async throws {
        try await options.run(
            .extendForAll(
                productID: product,
                days: terms.days,
                reason: try terms.reasonCode(),
                storefronts: storefronts.isEmpty ? nil : storefronts,
                requestIdentifier: terms.request,
                bundleID: place.app,
                environment: place.environment ?? "Production"
            )
        )
    }
}

/// `appstore-inbox apple set-token`: sets an appAccountToken.
struct AppleSetToken: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-token",
        abstract: "Sets the appAccountToken of a purchase and of its later renewals at Apple."
    )

    @Argument(help: "The originalTransactionId of the purchase.") var id: String
    @Argument(help: "The token, a UUID.") var token: String
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func validate() throws {
        _ = try uuid()
    }

    private func uuid() throws -> UUID {
        guard let uuid = UUID(uuidString: token) else { throw ValidationError("the token must be a UUID, not \(token.quotedUnlessSecret)") }
        return uuid
    }

    func run() async throws {
        try await options.run(
            .setAppAccountToken(originalTransactionID: id, token: try uuid(), bundleID: place.app, environment: place.environment)
        )
    }
}

/// `appstore-inbox apple finish`: finishes a transaction.
struct AppleFinish: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "finish",
        abstract: "Finishes a transaction that the customer's app never finished.",
        discussion: "StoreKit delivers a finished consumable to no app any more: first make sure that the customer has it."
    )

    @Argument(help: "The transactionId.") var id: String
    @Flag(help: "Confirms that the customer has what was bought.") var yes = false
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func validate() throws {
        guard yes else { throw ValidationError("finishing a transaction cannot be undone: confirm with --yes") }
    }

    func run() async throws {
        try await options.run(.finishTransaction(transactionID: id, bundleID: place.app, environment: place.environment))
    }
}
