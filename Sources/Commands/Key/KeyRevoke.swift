import AppStore
import ArgumentParser
import ShopAPI

/// `appstore-inbox key revoke`: ends a key.
struct KeyRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Ends a key: from now on it opens nothing.",
        discussion: "To revoke a key again changes nothing and is no failure."
    )

    @Argument(help: "The key's number, as `key list` shows it.") var id: Int32
    @OptionGroup var options: KeyOptions

    func run() async throws {
        let revoked = try await options.withRegister { try await $0.revoke(id) }
        if options.json {
            options.print(["id": .integer(id), "revoked": .bool(revoked)])
        } else {
            print(revoked ? "Key \(id) is revoked." : "Key \(id) was revoked before.")
        }
    }
}
