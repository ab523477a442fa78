"""A certificate authority for a test, and certificates by the authority."""

from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.clock import now

LOOPBACK = "127.0.0.1"


class Authority:
    """`file` is for clients to trust."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        only_root = x509.BasicConstraints(ca=True, path_length=0)
        signed = self._certificate(self._name, self._key, days=30).add_extension(only_root, critical=True)
        self.file = self._write("authority.pem", signed.sign(self._key, hashes.SHA256()))

    def certify(self, days: float) -> tuple[Path, Path]:
        """The files of a certificate for loopback, for so many days, and of the key."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))])
        signed = self._certificate(x509.Name([]), key, days).add_extension(address, critical=True)
        key_file = self._folder / f"key-{days}.pem"
        plain = serialization.NoEncryption()
        key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
        return self._write(f"certificate-{days}.pem", signed.sign(self._key, hashes.SHA256())), key_file

    def _certificate(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: float) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now() - timedelta(hours=1))
            .not_valid_after(now() + timedelta(days=days))
        )

    def _write(self, name: str, certificate: x509.Certificate) -> Path:
        file = self._folder / name
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return file
