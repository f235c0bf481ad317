import ArgumentParser
import SQL

/// `appstore-inbox apple extend-status`: asks how far Apple is with `extend-all`.
struct AppleExtendStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "extend-status", abstract: "Asks how far Apple is with an extend-all.")

    @Argument(help: "The productId.") var product: String
    @Argument(help: "The requestIdentifier, which extend-all has printed.") var request: String
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func run() async throws {
        try await options.run(
            .askApple(kind: "extend_status", id: request, bundleID: place.app, environment: place.environment, productID: product)
        )
    }
}
