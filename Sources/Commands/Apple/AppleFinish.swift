import ArgumentParser
import SQL

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
