extension FixedWidthInteger {
    /// A number in its only canonical form: without a plus sign and leading zeros. A resource has one path.
    init?(canonical text: String) {
        guard let number = Self(text), String(number) == text else { return nil }
        self = number
    }
}
