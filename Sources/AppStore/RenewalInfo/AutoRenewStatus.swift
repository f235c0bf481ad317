/// Whether the subscription will renew.
package struct AutoRenewStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let off = AutoRenewStatus(rawValue: 0)
    package static let on = AutoRenewStatus(rawValue: 1)

    package static let known: Set = [off, on]
}
