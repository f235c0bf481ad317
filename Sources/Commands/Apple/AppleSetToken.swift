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
        guard UUID(uuidString: token) == nil else { return }
        throw ValidationError("the token must be a UUID, not \(token.quotedUnlessSecret)")
    }

    func run() async throws {
        try await options.run(place.statement(.appleSetToken, ["id": id, "token": UUID(uuidString: token)]))
    }
}
