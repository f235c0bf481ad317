/// The settings for Apple's App Store Server API.
extension Settings {
    static let apiKeysDirectory = Setting(
        "api-keys-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with In-App Purchase keys, ISSUER/SubscriptionKey_ID.p8 as App Store Connect names them",
        parse: SettingValue.nonEmpty
    )
    static let apiIssuers = Setting(
        "api-issuers",
        value: "bundleId=ISSUER,…",
        default: "",
        summary: "the issuer of each app's key, where there are keys of several issuers",
        parse: SettingValue.issuers
    )
    static let apiProductionURL = Setting(
        "api-production-url",
        value: "https://HOST",
        default: "https://api.storekit.apple.com",
        summary: "the App Store Server API of Production; http on this machine only",
        parse: SettingValue.serverAPIURL
    )
    static let apiSandboxURL = Setting(
        "api-sandbox-url",
        value: "https://HOST",
        default: "https://api.storekit-sandbox.apple.com",
        summary: "the App Store Server API of Sandbox",
        parse: SettingValue.serverAPIURL
    )
    static let apiBudget = Setting(
        "api-budget",
        value: "1…100",
        default: "80",
        summary: "the percentage of Apple's documented limits that the workers use together; other programs may ask for the same apps",
        parse: SettingValue.integer(in: 1...100)
    )

    static let apiImportRequests = Setting(
        "api-import-requests",
        value: "1…100",
        default: "16",
        summary: "requests of imports that a worker has in flight, for each app and environment",
        parse: SettingValue.integer(in: 1...100)
    )

    static let serverAPI = [
        apiKeysDirectory.description, apiIssuers.description, apiProductionURL.description, apiSandboxURL.description,
        apiBudget.description, apiImportRequests.description,
    ]
}
