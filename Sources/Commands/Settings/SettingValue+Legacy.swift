import AppStoreVerification
import FoundationEssentials

/// Parsers of the settings for receipts and notifications V1.
extension SettingValue {
    /// Parses `bundleId=secret`, separated by commas or line feeds. An app may have several; the first is used for verifyReceipt.
    static func sharedSecrets(_ text: String) throws(InvalidSettingValue) -> SharedSecrets {
        var secrets: [String: [String]] = [:]
        for item in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
            let item = trimmed(item)
            guard !item.isEmpty else { continue }
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let bundleID = String(trimmed(parts[0]))
            guard parts.count == 2, isBundleID(bundleID), case let secret = trimmed(parts[1]), !secret.isEmpty else {
                throw InvalidSettingValue(expectation: "must be bundleId=secret, separated by commas or line feeds")
            }
            secrets[bundleID, default: []].append(String(secret))
        }
        guard !secrets.isEmpty else { throw InvalidSettingValue(expectation: "holds no secret: must be bundleId=secret") }
        return SharedSecrets(secrets)
    }

    /// Parses an app's secrets, one a line; empty lines are ignored.
    static func secrets(inLines text: String) throws(InvalidSettingValue) -> [String] {
        let secrets = text.split(whereSeparator: \.isNewline).map(trimmed).filter { !$0.isEmpty }
        guard !secrets.isEmpty else { throw InvalidSettingValue(expectation: "holds no secret") }
        return secrets.map { String($0) }
    }

    /// A URL to which secrets may be sent: HTTPS, or HTTP to loopback.
    static func verifyReceiptURL(_ text: String) throws(InvalidSettingValue) -> String {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil,
            url.scheme == "https" || url.scheme == "http" && loopbacks.contains(host)
        else { throw InvalidSettingValue(expectation: "must be https://host/path, or http to this machine (127.0.0.1, [::1], localhost)") }
        return text
    }

    static let loopbacks: Set<String> = ["127.0.0.1", "::1", "[::1]", "localhost"]

    /// Paths, separated by commas.
    static func paths(_ text: String) throws(InvalidSettingValue) -> [String] {
        text.isEmpty ? [] : try items(text)
    }

    /// The text without white space at its ends.
    static func trimmed(_ text: Substring) -> Substring {
        let end = text.lastIndex { !$0.isWhitespace }.map { text.index(after: $0) } ?? text.startIndex
        return text[..<end].drop(while: \.isWhitespace)
    }
}
