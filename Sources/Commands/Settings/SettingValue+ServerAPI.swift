import FoundationEssentials
import ServerAPI

/// Parsers of the settings for the App Store Server API.
extension SettingValue {
    /// The issuer, a UUID, of each bundle id.
    static func issuers(_ text: String) throws(InvalidSettingValue) -> [String: String] {
        var issuers: [String: String] = [:]
        for item in text.split(separator: ",") {
            let parts = trimmed(item).split(separator: "=", omittingEmptySubsequences: false).map { String(trimmed($0)) }
            guard parts.count == 2, isBundleID(parts[0]), let issuer = APIKeyFile.uuid(parts[1]),
                issuers.updateValue(issuer, forKey: parts[0]) == nil
            else {
                throw InvalidSettingValue(expectation: "must be bundleId=ISSUER, separated by commas, each issuer a UUID, each app once")
            }
        }
        return issuers
    }

    /// Where tokens may be sent: HTTPS, or HTTP to this machine. Without a path.
    static func serverAPIURL(_ text: String) throws(InvalidSettingValue) -> String {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil, url.path.isEmpty || url.path == "/",
            url.scheme == "https" || url.scheme == "http" && loopbacks.contains(host)
        else { throw InvalidSettingValue(expectation: "must be https://host, or http to this machine (127.0.0.1, [::1], localhost)") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
