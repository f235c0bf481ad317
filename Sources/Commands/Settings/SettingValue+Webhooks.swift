import Webhooks

/// Parsers of the settings for webhooks.
extension SettingValue {
    /// One or two lines, the current text first.
    static func webhookMasters(_ text: String) throws(InvalidSettingValue) -> WebhookMasters {
        do {
            return try WebhookMasters(text)
        } catch {
            throw InvalidSettingValue(expectation: "\(error)")
        }
    }

    static func networkPolicy(_ text: String) throws(InvalidSettingValue) -> NetworkPolicy {
        guard let policy = NetworkPolicy(text) else {
            throw InvalidSettingValue(expectation: "must be any, public, or networks such as 10.0.0.0/8,fd00::/8")
        }
        return policy
    }

    static func proxy(_ text: String) throws(InvalidSettingValue) -> ProxyAddress {
        guard let proxy = ProxyAddress(text) else {
            throw InvalidSettingValue(expectation: "must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
        }
        return proxy
    }
}
