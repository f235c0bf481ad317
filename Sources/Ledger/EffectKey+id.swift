import AppStore
package import FoundationEssentials

extension EffectKey {
    /// The namespace of the ids of effects. A change would record every effect a second time.
    private static let namespace = UUID(
        uuid: (0x2d, 0x9c, 0x41, 0x7b, 0x6a, 0x0e, 0x4f, 0x35, 0x8b, 0x57, 0xd1, 0x94, 0x3e, 0xc2, 0x60, 0xaf)
    )

    /// A version 5 UUID of environment, kind and subject: the same in every installation and after any replay.
    package var id: UUID { UUID(version5In: Self.namespace, words: [environment.rawValue, kind.rawValue, subject]) }
}
