package import AppStore
package import FoundationEssentials

/// The identity of a notification, the same for each delivery of it.
package struct NotificationKey: Hashable, Sendable {
    package let environment: AppStoreEnvironment
    package let uuid: UUID

    package init(environment: AppStoreEnvironment, uuid: UUID) {
        self.environment = environment
        self.uuid = uuid
    }
}

extension UUID {
    /// The namespace of derived notificationUUIDs. A change would record effects a second time.
    private static let notificationNamespace = UUID(
        uuid: (0x9b, 0x1f, 0x6d, 0x52, 0x0c, 0xe8, 0x4a, 0x13, 0xa7, 0x64, 0x58, 0x2e, 0xf3, 0x91, 0xd0, 0x4b)
    )

    /// Parses a notificationUUID in upper or lower case. Any other text gives a version 5 UUID: such an event fails neither itself nor its
    /// batch, and equal texts are the same notification.
    package init(notification text: String) {
        self = UUID(uuidString: text) ?? UUID(version5In: Self.notificationNamespace, words: [text])
    }
}
