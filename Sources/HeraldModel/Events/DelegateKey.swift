/// The number of a delegate in the store: small and never reused. Lanes, retries and attempts refer to it.
package typealias DelegateKey = Int64
