/// Why Apple answers 401, whose body is empty. The causes look alike; other answers tell them apart.
package enum KeyRefusal: Hashable, Sendable {
    /// Seconds between this clock and Apple's that are no cause: tokens are dated back by a minute.
    static let allowedSkew = 55.0

    /// This machine's clock is that far ahead of Apple's; negative where it is behind.
    case clock(Duration)
    /// The key is good in Sandbox.
    case notReleased
    /// Another key of the same account is good for this app.
    case key
    /// A key of this other account is good for this app.
    case issuer(String)
    /// The key is good for this other app.
    case app(works: String)
    /// The key was good here before, and nothing says that it still is anywhere.
    case revoked
    case unknown

    /// A code for logs.
    package var code: String {
        switch self {
        case .clock: "clock"
        case .notReleased: "app_not_released"
        case .key: "key"
        case .issuer: "issuer"
        case .app: "bundle_id"
        case .revoked: "revoked"
        case .unknown: "unknown"
        }
    }

    /// All codes.
    static let codes = [Self.clock(.zero), .notReleased, .key, .issuer(""), .app(works: ""), .revoked, .unknown].map(\.code)

    /// What the cause is.
    package var explanation: String {
        switch self {
        case .clock(let skew):
            "the clock of this machine is \(Int((abs(skew / .seconds(1))).rounded())) s \(skew < .zero ? "behind" : "ahead of") Apple's"
        case .notReleased: "Apple accepts the key in Sandbox and not in Production: the app was never released, or has left the App Store"
        case .key: "Apple accepts another key of the account for this app: this one was revoked, or is not of the kind In-App Purchase"
        case .issuer(let other): "the app belongs to another account: Apple accepts the key of issuer \(other)"
        case .app(let other): "Apple accepts the key for \(other): this app belongs to another account, or its bundle id is misspelt"
        case .revoked: "Apple accepted the key until now: it was probably revoked"
        case .unknown:
            "the key was revoked, is not of the kind In-App Purchase, or is in the folder of another issuer; or the app belongs to another account"
        }
    }

    /// What to do.
    package var remedy: String {
        switch self {
        case .clock: "synchronise the clock (chrony, systemd-timesyncd)"
        case .notReleased: "nothing before the release; or set environments to Sandbox"
        case .key: "remove the file of the refused key"
        case .issuer(let other): "name it in api-issuers: BUNDLE=\(other)"
        case .app: "correct apps, or add the other account's key and name it in api-issuers"
        case .revoked: "look it up in App Store Connect (Users and Access, Integrations, In-App Purchase), and add a new key"
        case .unknown: "compare key id and issuer id in App Store Connect: Users and Access, Integrations, In-App Purchase"
        }
    }
}
