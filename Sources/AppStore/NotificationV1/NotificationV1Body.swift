/// A body that was posted to the address of notifications V1, its secrets taken out of it.
///
/// This is the one reader of that shape, made before anything is stored or logged: `bytes` may be kept, `secrets` may only be compared.
/// The body is read as a whole, but nothing is built from members that are not looked at: the bytes come from anyone.
package struct NotificationV1Body: Sendable {
    /// Why bytes cannot be a notification.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// No JSON text, or JSON that no parser of ours takes.
        case notJSON = "not_json"
        /// JSON, but no object.
        case notAnObject = "not_an_object"
        /// Neither a `notification_type` nor a `signedPayload` that is a string.
        case noNotificationType = "no_notification_type"
    }

    /// What kind of notification it is; Apple sends TEST, which is V2, to this address too.
    package enum Kind: Hashable, Sendable {
        case notificationV1
        /// Authenticated by its signature and not by a secret; ``NotificationBody`` says whether it has the right shape.
        case notificationV2
    }

    package let kind: Kind
    /// The body byte for byte, but for the values of all members of the outermost object whose name means `password`, in whichever
    /// escapes it is written: each of them is `""`.
    package let bytes: [UInt8]
    /// What those values were, in UTF-8 and without escapes, in their order. A value that is no string is not among them: it can be
    /// nobody's secret. Genuine notifications have exactly one.
    package let secrets: [[UInt8]]
    /// How many members those were, whatever their values.
    package let passwordCount: Int
    /// `bid` of the outermost object or, as until 2019, of the purchase in `latest_receipt_info` or `latest_expired_receipt_info`: whose
    /// secret it must be. Nil where it is missing or no string; empty is missing.
    package let bundleID: String?

    private static let maximumDepth = 32

    package init(_ body: [UInt8]) throws(Refusal) {
        self = try body.withUnsafeBufferPointer { bytes throws(Refusal) in try NotificationV1Body(reading: bytes) }
    }

    /// Reads a body where it lies, so that its secrets are in memory no longer than its sender's bytes are; `bytes` is a copy.
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

    /// What is found in one walk over the outermost object.
    private struct Scan {
        var isObject = false
        var hasNotificationType = false
        var hasSignedPayload = false
        /// Where the values are, and what they mean when they are strings.
        var passwords: [(range: Range<Int>, secret: [UInt8]?)] = []
        /// The first one's value.
        var bundleID: String?
        /// That of the purchase in it, where it names none itself, as until 2019.
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
                // Bytes, not characters: Swift takes texts for equal that are not the same.
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

        /// `bid` of a purchase, which is walked over.
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
    /// Nothing of the body.
    package var description: String { "a body of \(bytes.count) bytes with \(secrets.count) secrets" }

    /// No members: what prints a value by its mirror must not print a secret.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
