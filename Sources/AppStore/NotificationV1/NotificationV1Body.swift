import StrictJSON

/// A body that was posted to the endpoint of notifications V1, with its secrets removed.
///
/// It is read before anything is stored or logged: `bytes` may be kept, `secrets` may only be compared. The bytes are untrusted: the reader
/// allocates nothing for members that it skips.
package struct NotificationV1Body: Sendable {
    /// Why a body is not a notification.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Not JSON, or JSON that ``JSONParser`` refuses.
        case notJSON = "not_json"
        /// JSON, but not an object.
        case notAnObject = "not_an_object"
        /// Neither `notification_type` nor `signedPayload` is a string.
        case noNotificationType = "no_notification_type"
    }

    /// The version of the notification; Apple sends TEST, a notification V2, to this endpoint too.
    package enum Kind: Hashable, Sendable {
        case notificationV1
        /// Authenticated by its signature, not by a secret; ``NotificationBody`` checks its form.
        case notificationV2
    }

    package let kind: Kind
    /// The body byte for byte, except that the value of each outermost member `password`, however its name is escaped, is `""`.
    package let bytes: [UInt8]
    /// The removed values that were strings, in order, unescaped, in UTF-8. Genuine notifications have exactly one.
    package let secrets: [[UInt8]]
    /// The number of outermost members `password`, of any type.
    package let passwordCount: Int
    /// The app whose secret the password must be: `bid` of the outermost object, or (until 2019) of the purchase in `latest_receipt_info` or
    /// `latest_expired_receipt_info`. Nil when it is absent, empty or not a string.
    package let bundleID: String?

    private static let maximumDepth = 32

    package init(_ body: [UInt8]) throws(Refusal) {
        self = try body.withUnsafeBufferPointer { bytes throws(Refusal) in try NotificationV1Body(reading: bytes) }
    }

    /// Reads a body in place, so that the password is not copied with the body; `bytes` is a copy without it.
    package init(_ body: UnsafeRawBufferPointer) throws(Refusal) {
        self = try body.withMemoryRebound(to: UInt8.self) { bytes throws(Refusal) in try NotificationV1Body(reading: bytes) }
    }

    private init(reading body: UnsafeBufferPointer<UInt8>) throws(Refusal) {
        let scan: Scan
        do throws(JSONSyntaxError) {
            scan = try Scan(body, maximumDepth: Self.maximumDepth)
        } catch {
            throw .notJSON
        }
        guard scan.isObject else { throw .notAnObject }
        guard scan.hasNotificationType || scan.hasSignedPayload else { throw .noNotificationType }
        kind = scan.hasSignedPayload ? .notificationV2 : .notificationV1
        secrets = scan.passwords.compactMap(\.secret)
        passwordCount = scan.passwords.count
        bundleID = scan.bundleID ?? scan.innerBundleID
        bytes = Self.blanking(scan.passwords.map(\.range), in: body)
    }

    private static func blanking(_ ranges: [Range<Int>], in body: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count)
        var position = 0
        for range in ranges {
            bytes += body[position..<range.lowerBound]
            bytes += "\"\"".utf8
            position = range.upperBound
        }
        return bytes + body[position...]
    }

    /// The result of one pass over the outermost object.
    private struct Scan {
        var isObject = false
        var hasNotificationType = false
        var hasSignedPayload = false
        /// The ranges of the values, and the unescaped values that are strings.
        var passwords: [(range: Range<Int>, secret: [UInt8]?)] = []
        /// The first outermost `bid`.
        var bundleID: String?
        /// The first `bid` of a purchase inside (until 2019).
        var innerBundleID: String?
        private var hasBundleID = false

        init(_ body: UnsafeBufferPointer<UInt8>, maximumDepth: Int) throws(JSONSyntaxError) {
            var scanner = JSONScanner(body)
            scanner.skipWhitespace()
            isObject = scanner.next == UInt8(ascii: "{")
            if isObject {
                try read(&scanner, maximumDepth: maximumDepth)
            } else {
                try scanner.skipValue(remainingDepth: maximumDepth)
            }
            try scanner.expectEnd()
        }

        private mutating func read(_ scanner: inout JSONScanner, maximumDepth: Int) throws(JSONSyntaxError) {
            try scanner.expect(UInt8(ascii: "{"))
            if scanner.accept(UInt8(ascii: "}")) { return }
            repeat {
                try scanner.expect(UInt8(ascii: "\""))
                let name = try scanner.scanText()
                try scanner.expect(UInt8(ascii: ":"))
                scanner.skipWhitespace()
                let start = scanner.position
                let isString = scanner.next == UInt8(ascii: "\"")
                // Compare bytes: Swift strings are also equal when they are only canonically equivalent.
                if name.utf8.elementsEqual("password".utf8) {
                    let secret = try Self.secret(&scanner, isString: isString, maximumDepth: maximumDepth)
                    passwords.append((start..<scanner.position, secret))
                } else if isString, !hasBundleID, name.utf8.elementsEqual("bid".utf8) {
                    hasBundleID = true
                    try scanner.expect(UInt8(ascii: "\""))
                    let text = try scanner.scanText()
                    bundleID = text.isEmpty ? nil : text
                } else if scanner.next == UInt8(ascii: "{"), ["latest_receipt_info", "latest_expired_receipt_info"].contains(name) {
                    let inner = try Self.bundleID(&scanner, maximumDepth: maximumDepth - 1)
                    innerBundleID = innerBundleID ?? inner
                } else {
                    try scanner.skipValue(remainingDepth: maximumDepth - 1)
                    if isString, name == "notification_type" { hasNotificationType = true }
                    if isString, name == "signedPayload" { hasSignedPayload = true }
                }
            } while scanner.accept(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }

        /// Reads a purchase and returns its `bid`.
        private static func bundleID(_ scanner: inout JSONScanner, maximumDepth: Int) throws(JSONSyntaxError) -> String? {
            var found: String?
            try scanner.expect(UInt8(ascii: "{"))
            if scanner.accept(UInt8(ascii: "}")) { return nil }
            repeat {
                try scanner.expect(UInt8(ascii: "\""))
                let name = try scanner.scanText()
                try scanner.expect(UInt8(ascii: ":"))
                scanner.skipWhitespace()
                if found == nil, scanner.next == UInt8(ascii: "\""), name.utf8.elementsEqual("bid".utf8) {
                    try scanner.expect(UInt8(ascii: "\""))
                    found = try scanner.scanText()
                } else {
                    try scanner.skipValue(remainingDepth: maximumDepth - 1)
                }
            } while scanner.accept(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
            return found.flatMap { $0.isEmpty ? nil : $0 }
        }

        private static func secret(
            _ scanner: inout JSONScanner,
            isString: Bool,
            maximumDepth: Int
        ) throws(JSONSyntaxError) -> [UInt8]? {
            guard isString else {
                try scanner.skipValue(remainingDepth: maximumDepth - 1)
                return nil
            }
            try scanner.expect(UInt8(ascii: "\""))
            return Array(try scanner.scanText().utf8)
        }
    }
}

extension NotificationV1Body: CustomStringConvertible, CustomReflectable {
    /// Discloses nothing of the body.
    package var description: String { "a body of \(bytes.count) bytes with \(secrets.count) secrets" }

    /// No members: printing by reflection must not disclose a secret.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
