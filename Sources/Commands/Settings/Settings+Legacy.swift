import AppStoreVerification
import Handlers

/// The settings for receipts and notifications V1.
extension Settings {
    static let sharedSecretsDirectory = Setting(
        "shared-secrets-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with a file for each app, named as its bundle id: a shared secret a line, the one to ask Apple with first",
        parse: SettingValue.nonEmpty
    )
    static let sharedSecrets = Setting(
        "shared-secrets",
        value: "bundleId=secret,…",
        default: nil,
        isSecret: true,
        summary: "the same in one text, an app again for each of its secrets; better from files than from a flag that ps(1) shows",
        parse: SettingValue.sharedSecrets
    )
    static let sharedSecretsFile = Setting(
        "shared-secrets-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the shared-secrets",
        parse: SettingValue.nonEmpty
    )
    static let legacyBodyLimit = Setting(
        "legacy-body-limit",
        value: "bytes",
        default: "4194304",
        summary: "the largest notification V1, and the largest body of POST /v1/receipts",
        parse: SettingValue.integer(in: 16_384...4_194_304)
    )
    static let verifyReceipt = Setting(
        "verify-receipt",
        value: "apple|local",
        default: "apple",
        summary: "apple asks verifyReceipt about receipts of apps that have a shared secret; local never does",
        parse: SettingValue.choice(VerifyReceiptMode.self)
    )
    static let verifyReceiptURL = Setting(
        "verify-receipt-url",
        value: "URL",
        default: "https://buy.itunes.apple.com/verifyReceipt",
        summary: "where verifyReceipt is asked first; http on this machine only",
        parse: SettingValue.verifyReceiptURL
    )
    static let verifyReceiptSandboxURL = Setting(
        "verify-receipt-sandbox-url",
        value: "URL",
        default: "https://sandbox.itunes.apple.com/verifyReceipt",
        summary: "where verifyReceipt is asked about receipts of the sandbox",
        parse: SettingValue.verifyReceiptURL
    )
    static let outboundRoots = Setting(
        "outbound-roots",
        value: "PATH,…",
        default: "",
        summary: "certificates in PEM trusted beside the system's when others are asked, for tests",
        parse: SettingValue.paths
    )

    /// Both daemons have them: ingest compares, the worker asks.
    static let secrets = [sharedSecretsDirectory.description, sharedSecrets.description, sharedSecretsFile.description]
    static let outbound = [
        verifyReceipt.description, verifyReceiptURL.description, verifyReceiptSandboxURL.description, outboundRoots.description,
    ]
}
