/// Who has the last word on what is in a receipt; the raw value is the setting's.
package enum VerifyReceiptMode: String, CaseIterable, Sendable {
    /// Apple's verifyReceipt, which is asked where there is a shared secret to ask with.
    case apple
    /// The receipt itself, as far as it is genuine.
    case local
}

/// What the handlers must know of the legacy App Store. They know which apps have a shared secret, and never the secret.
package struct LegacySettings: Sendable {
    package let mode: VerifyReceiptMode
    /// Bundle identifiers.
    package let appsWithSecret: Set<String>

    package init(mode: VerifyReceiptMode, appsWithSecret: Set<String>) {
        self.mode = mode
        self.appsWithSecret = appsWithSecret
    }

    /// Asks nobody.
    package static let local = LegacySettings(mode: .local, appsWithSecret: [])

    /// Whether verifyReceipt is asked about receipts of that app.
    package func asksApple(about bundleID: String) -> Bool { mode == .apple && appsWithSecret.contains(bundleID) }
}
