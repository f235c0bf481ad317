/// The settings for webhooks.
extension Settings {
    static let webhookSecret = Setting(
        "webhook-secret",
        value: "TEXT",
        default: nil,
        isSecret: true,
        summary: "the text from which each endpoint's secret is derived; better from a file than from a flag that ps(1) shows",
        parse: SettingValue.webhookMasters
    )
    static let webhookSecretFile = Setting(
        "webhook-secret-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the webhook-secret, and in a second line the previous one while it is replaced",
        parse: SettingValue.nonEmpty
    )
    static let webhookHeadersDirectory = Setting(
        "webhook-headers-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with files ENDPOINT.headers, whose lines NAME: value are sent with each webhook of the endpoint",
        parse: SettingValue.nonEmpty
    )
    static let outboundNetworks = Setting(
        "outbound-networks",
        value: "any|public|CIDR,…",
        default: "any",
        summary: "where webhooks may go; never to link-local or metadata addresses, nor to listeners of this program",
        parse: SettingValue.networkPolicy
    )
    static let outboundProxy = Setting(
        "outbound-proxy",
        value: "http://[USER:PASSWORD@]HOST:PORT",
        default: nil,
        isSecret: true,
        summary: "the proxy through which webhooks are sent",
        parse: SettingValue.proxy
    )
    static let outboundProxyFile = Setting(
        "outbound-proxy-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the outbound-proxy",
        parse: SettingValue.nonEmpty
    )

    static let webhooks = [
        webhookSecret.description, webhookSecretFile.description, webhookHeadersDirectory.description, outboundNetworks.description,
        outboundProxy.description, outboundProxyFile.description,
    ]
    /// Those of them without a default.
    static let optionalWebhooks = webhooks.filter { $0.fallback == nil }
}
