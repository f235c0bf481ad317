/// Which source decides what is in a receipt; the raw value is the setting's.
package enum VerifyReceiptMode: String, CaseIterable, Sendable {
    /// Apple's verifyReceipt, for apps that have a shared secret.
    case apple
    /// The genuine receipt itself.
    case local
}

/// The settings of the legacy App Store that interpreters need: which apps have a shared secret, never the secret itself.
package struct LegacySettings: Sendable {
    package let mode: VerifyReceiptMode
    /// Bundle identifiers.
    package let appsWithSecret: Set<String>

    package init(mode: VerifyReceiptMode, appsWithSecret: Set<String>) {
        self.mode = mode
        self.appsWithSecret = appsWithSecret
    }

    /// Never asks Apple.
    package static let local = LegacySettings(mode: .local, appsWithSecret: [])

    /// Whether verifyReceipt is asked about receipts of the app.
    package func asksApple(about bundleID: String) -> Bool { mode == .apple && appsWithSecret.contains(bundleID) }
}
