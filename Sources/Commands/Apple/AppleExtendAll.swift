import ArgumentParser
import SQL

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
