import ArgumentParser
import FoundationEssentials
import SQL

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
