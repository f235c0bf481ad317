import ArgumentParser
import ShopAPI
import StrictJSON

/// `appstore-inbox key revoke`: revokes a key.
struct KeyRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a key: requests with it are refused from now on.",
        discussion: "Revoking a revoked key changes nothing and succeeds."
    )

    @Argument(help: "The key's number, as `key list` shows it.") var id: Int32
    @OptionGroup var options: KeyOptions

    func run() async throws {
        let revoked = try await options.withRegister { try await $0.revoke(id) }
        options.print(["id": .integer(id), "revoked": .bool(revoked)], "Key \(id) \(revoked ? "is" : "was already") revoked.")
    }
}
